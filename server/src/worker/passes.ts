import { logFailure } from './queue.ts'
import type { WorkerApp } from './worker-app.ts'

/** Runs work that is repeated anyway, and times it under that name: a failure is logged and otherwise ignored. */
export function runPass<T>(
  app: Pick<WorkerApp, 'log' | 'metrics'>,
  name: string,
  pass: () => Promise<T>,
): Promise<T | undefined> {
  return logFailure(app, () => app.metrics.worker.timePass(name, pass))
}

/** Repeats a pass until its timer is cleared. */
export function repeatPass(
  app: Pick<WorkerApp, 'log' | 'metrics'>,
  name: string,
  everyMs: number,
  pass: () => Promise<void>,
): NodeJS.Timeout {
  return setInterval(() => void runPass(app, name, pass), everyMs)
}
