import type { App } from '../app.ts'
import { checkBudgets } from '../domain/budgets/checks.ts'
import { pause } from '../pace.ts'
import { logFailure } from './queue.ts'

const leastMs = 20

/**
 * Checks budgets until the signal is aborted: when the next one is due, and at every poll, which finds
 * machines that began to run, bytes that were counted, and changed budgets.
 */
export async function watchBudgets(
  app: Pick<App, 'config' | 'db' | 'changes' | 'log' | 'timing'>,
  signal: AbortSignal,
): Promise<void> {
  const { pollMs } = app.timing
  while (!signal.aborted) {
    const nextMs = (await logFailure(app, () => checkBudgets(app))) ?? pollMs
    await pause(Math.max(leastMs, Math.min(nextMs, pollMs)), signal)
  }
}
