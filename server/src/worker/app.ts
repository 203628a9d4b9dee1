import type { App } from '../app.ts'

/** The parts of the server that the reconcilers use. */
export type WorkerApp = Pick<App, 'config' | 'db' | 'changes' | 'log' | 'guests' | 'driver'>
