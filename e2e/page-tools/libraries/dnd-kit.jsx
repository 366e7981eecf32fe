import { DndContext, KeyboardSensor, PointerSensor, closestCenter, useSensor, useSensors } from "@dnd-kit/core";
import { SortableContext, arrayMove, sortableKeyboardCoordinates, useSortable, verticalListSortingStrategy } from "@dnd-kit/sortable";
import { CSS } from "@dnd-kit/utilities";

import { useReportedState } from "./reported-state.js";

export function DndKitLists() {
  return (
    <>
      <SortableList stateKey="dnd.pointer" initial={["Dnd apple", "Dnd banana", "Dnd cherry"]} />
      <SortableList stateKey="dnd.keys" initial={["Dnd one", "Dnd two", "Dnd three"]} />
    </>
  );
}

function SortableList({ stateKey, initial }) {
  const [items, setItems] = useReportedState(stateKey, initial);
  const sensors = useSensors(
    useSensor(PointerSensor, { activationConstraint: { distance: 4 } }),
    useSensor(KeyboardSensor, { coordinateGetter: sortableKeyboardCoordinates }),
  );
  const move = ({ active, over }) => {
    if (over && over.id !== active.id) {
      setItems((items) => arrayMove(items, items.indexOf(active.id), items.indexOf(over.id)));
    }
  };
  return (
    <DndContext sensors={sensors} collisionDetection={closestCenter} onDragEnd={move}>
      <SortableContext items={items} strategy={verticalListSortingStrategy}>
        <div className="list">{items.map((item) => <SortableItem key={item} id={item} />)}</div>
      </SortableContext>
    </DndContext>
  );
}

function SortableItem({ id }) {
  const { attributes, listeners, setNodeRef, transform, transition } = useSortable({ id });
  const style = { transform: CSS.Transform.toString(transform), transition, border: "1px solid #999", padding: 8, touchAction: "none" };
  return <div ref={setNodeRef} style={style} {...attributes} {...listeners}>{id}</div>;
}
