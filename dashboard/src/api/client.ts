import { Computer } from '@computer/sdk'

/**
 * The SDK as a browser uses it: with the cookie of the session. The pages show by themselves that a machine
 * is still starting, so calls fail at once with `compute_unavailable` instead of waiting for it.
 */
export const computer = new Computer({
  sessionType: 'human',
  maxRetries: 1,
  unavailableTimeoutMs: 0,
  closeOnExit: false,
})
