import { guestStreams, ScreenFromGuest } from '@computer/contract'
import type { GuestChannels, GuestRef } from './channels.ts'
import { openGuestStream, type GuestStream } from './streams.ts'

const openTimeoutMs = 15_000

export type ScreenStream = GuestStream<ScreenFromGuest>

/** Streams the machine's display: the whole picture first, then its changes. */
export function openScreen(
  channels: GuestChannels,
  ref: GuestRef,
  signal: AbortSignal,
): Promise<ScreenStream> {
  const options = { timeoutMs: openTimeoutMs, signal }
  return openGuestStream(channels, ref, guestStreams.screen.path, ScreenFromGuest, options)
}
