import { constants } from 'node:os'

/** As a shell reports it: 128 and the signal's number for a process that a signal ended. */
export function exitCodeOf(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? 128 + constants.signals[signal!]
}

/**
 * After a command has exited, its pipes may still hold output. They are read until they have been
 * silent for `drainSilenceMs`, for `maxDrainMs` at most: a process left in the background keeps
 * them open.
 */
export const drainSilenceMs = 50
export const maxDrainMs = 1000
