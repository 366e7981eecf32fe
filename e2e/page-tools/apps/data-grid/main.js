// A grid of 1,000 orders. What the grid knows is in `window.appState`: `shown` are the ids of the first ten
// rows in their order after sorting and filtering, `count` is how many pass the filter, and `edited` is the
// last order that was edited.
import { AllCommunityModule, ModuleRegistry, createGrid } from "ag-grid-community";

ModuleRegistry.registerModules([AllCommunityModule]);

const ARTICLES = ["bolt", "nut", "washer", "screw", "hinge", "bracket", "spring"];

/** The same orders at each load: the price steps through 0.5 to 99.5 in an order that is not sorted. */
const orders = Array.from({ length: 1000 }, (_, index) => ({
  id: index + 1,
  article: `${ARTICLES[index % ARTICLES.length]} ${index + 1}`,
  pieces: (index * 37) % 100,
  price: ((index * 71) % 100) + 0.5,
  paid: index % 3 === 0,
}));

function reportShown({ api }) {
  const shown = [];
  api.forEachNodeAfterFilterAndSort(({ data }) => shown.push(data.id));
  window.appState.count = shown.length;
  window.appState.shown = shown.slice(0, 10);
}

window.appState = {};
createGrid(document.getElementById("grid"), {
  defaultColDef: { flex: 1, filter: true, floatingFilter: true },
  columnDefs: [
    { field: "id", headerName: "Order" },
    { field: "article", headerName: "Article", editable: true },
    { field: "pieces", headerName: "Pieces", editable: true, filter: "agNumberColumnFilter" },
    { field: "price", headerName: "Price", filter: "agNumberColumnFilter" },
    { field: "paid", headerName: "Paid", editable: true, filter: false },
  ],
  rowData: orders,
  getRowId: ({ data }) => String(data.id),
  onModelUpdated: reportShown,
  onCellValueChanged: ({ data }) => {
    window.appState.edited = { ...data };
  },
});
