//! Cycles in a directed graph whose nodes are numbers.

use std::collections::VecDeque;

/// For each node, the nodes that its edges lead to.
pub(super) type Graph = Vec<Vec<usize>>;

/// Returns the strongly connected components with more than one node, each sorted, by Tarjan's
/// algorithm.
pub(super) fn components(graph: &Graph) -> Vec<Vec<usize>> {
    let mut search = Search {
        graph,
        index: vec![None; graph.len()],
        lowest: vec![0; graph.len()],
        stack: Vec::new(),
        next_index: 0,
        components: Vec::new(),
    };
    for node in 0..graph.len() {
        if search.index[node].is_none() {
            search.visit(node);
        }
    }
    search.components.sort();
    search.components
}

/// The state of Tarjan's algorithm.
struct Search<'a> {
    graph: &'a Graph,
    index: Vec<Option<usize>>,
    lowest: Vec<usize>,
    stack: Vec<usize>,
    next_index: usize,
    components: Vec<Vec<usize>>,
}

impl Search<'_> {
    fn visit(&mut self, node: usize) {
        let index = self.next_index;
        self.next_index += 1;
        self.index[node] = Some(index);
        self.lowest[node] = index;
        self.stack.push(node);
        for &next in &self.graph[node] {
            match self.index[next] {
                None => {
                    self.visit(next);
                    self.lowest[node] = self.lowest[node].min(self.lowest[next]);
                }
                Some(index) if self.stack.contains(&next) => {
                    self.lowest[node] = self.lowest[node].min(index);
                }
                Some(_) => {}
            }
        }
        if self.lowest[node] == index
            && let Some(start) = self.stack.iter().position(|it| *it == node)
        {
            let mut component = self.stack.split_off(start);
            component.sort_unstable();
            if component.len() > 1 {
                self.components.push(component);
            }
        }
    }
}

/// Returns the nodes of a shortest cycle in a component, without repeating the first one at the
/// end.
pub(super) fn shortest_cycle(graph: &Graph, component: &[usize]) -> Vec<usize> {
    let cycles = component
        .iter()
        .filter_map(|start| shortest_cycle_from(graph, *start));
    cycles.min_by_key(Vec::len).unwrap_or_default()
}

fn shortest_cycle_from(graph: &Graph, start: usize) -> Option<Vec<usize>> {
    let mut previous = vec![None; graph.len()];
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for &next in &graph[node] {
            if next == start {
                let path = std::iter::successors(Some(node), |node| previous[*node]);
                let mut cycle: Vec<usize> = path.collect();
                cycle.reverse();
                return Some(cycle);
            }
            if previous[next].is_none() {
                previous[next] = Some(node);
                queue.push_back(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_reach_each_other_are_a_component() {
        let graph = vec![vec![1], vec![2], vec![0, 3], vec![4], vec![3, 5], vec![]];
        assert_eq!(components(&graph), [vec![0, 1, 2], vec![3, 4]]);
        assert_eq!(components(&vec![vec![1, 2], vec![2], vec![]]).len(), 0);
    }

    #[test]
    fn the_shortest_cycle_of_a_component_is_found() {
        let graph = vec![vec![1], vec![2], vec![3, 1], vec![0]];
        assert_eq!(shortest_cycle(&graph, &[0, 1, 2, 3]), [1, 2]);
    }
}
