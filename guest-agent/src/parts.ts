import type { Route } from './server.ts'

/**
 * Code that the agent loads when a caller first needs it: a machine counts as running once its agent has
 * answered, and that answer needs none of it.
 */
export const parts = {
  desktop: () => import('./desktop/routes.ts'),
  files: () => import('./files/routes.ts'),
  ports: () => import('./ports/routes.ts'),
  processes: () => import('./processes/routes.ts'),
  terminals: () => import('./terminals/routes.ts'),
}

/** The routes of a part. `load` makes them when the first one is called. */
export function loadLater<Name extends string>(
  routes: Readonly<Record<Name, unknown>>,
  load: () => Promise<Readonly<Record<Name, Route>>>,
): Record<Name, Route> {
  let loading: ReturnType<typeof load> | undefined
  const later = (name: Name): Route => {
    return async (request) => (await (loading ??= load()))[name](request)
  }
  const names = Object.keys(routes) as Name[]
  return Object.fromEntries(names.map((name) => [name, later(name)])) as Record<Name, Route>
}
