// The names that the configurations of `cases.json` use. A journey also uses them in a browser.

export function caseNames({ z, id, system, groupState }) {
  let generated = 0;
  let time = 1000;
  const gen = () => `gen-${++generated}`;
  const now = () => ++time;
  const Todo = () =>
    z.object({
      id: id(system(z.string().default(gen))),
      created_at: system(z.number().default(now)),
      updated_at: system(z.number().default(now)),
      value: z.string(),
      priority: z.number().min(1).max(5).default(3),
      completed_at: z.number().nullable().default(null),
      tags: z.array(z.string()).default([]),
    });
  const Project = () =>
    z.object({ id: system(z.string().default(gen)), title: z.string(), color: z.string().nullable().default(null) });
  const App = () =>
    z.object({
      todos: z.array(Todo()),
      projects: z.record(z.string(), Project()),
      sortBy: z.enum(["created_at", "priority"]),
      showCompleted: z.boolean(),
      theme: z.enum(["system", "light", "dark"]),
    });
  const Game = () =>
    z.object({
      board: z.array(z.array(z.string())),
      currentPlayer: z.number(),
      score: z.object({ red: z.number(), black: z.number() }),
      settings: z.object({ theme: z.string(), sound: z.boolean() }),
    });
  const shared = z.string().default("d");
  const V = z.object({ views: z.array(z.object({ id: z.string(), tracks: z.array(z.object({ t: z.string() })).optional() })) });
  return { z, id, system, groupState, gen, now, Todo, Project, App, Game, shared, V };
}
