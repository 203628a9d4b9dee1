import { guestStreams, ScreenFromGuest, type SessionId } from '@computer/contract'
import type { GuestChannels, GuestRef } from './channels.ts'
import { openGuestStream, type GuestStream } from './streams.ts'

const openTimeoutMs = 15_000

export type ScreenStream = GuestStream<ScreenFromGuest>

/**
 * Streams the machine's display: the whole picture first, then its changes. `viewer` is the session of all who see
 * it; without one the agent refuses it while the screen is private.
 */
export function openScreen(
  channels: GuestChannels,
  ref: GuestRef,
  viewer: SessionId | null,
  signal: AbortSignal,
): Promise<ScreenStream> {
  const options = { timeoutMs: openTimeoutMs, signal }
  const { path } = guestStreams.screen
  const target = viewer ? `${path}?viewer=${viewer}` : path
  return openGuestStream(channels, ref, target, ScreenFromGuest, options)
}
