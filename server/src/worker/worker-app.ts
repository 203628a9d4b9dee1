import type { App } from '../app.ts'

export type WorkerApp = Pick<
  App,
  | 'config'
  | 'timing'
  | 'db'
  | 'changes'
  | 'log'
  | 'guests'
  | 'driver'
  | 'hosts'
  | 'payments'
  | 'metrics'
>
