import { guestStreams, ScreenFromGuest } from '@computer/contract'
import type { GuestChannels, GuestRef } from './channels.ts'
import { openGuestStream, type GuestStream } from './streams.ts'

const openTimeoutMs = 15_000

export type ScreenStream = GuestStream<ScreenFromGuest>

/** What is drawn on the machine's display from now on, and the whole of it first. */
export function openScreen(
  channels: GuestChannels,
  ref: GuestRef,
  signal: AbortSignal,
): Promise<ScreenStream> {
  const options = { timeoutMs: openTimeoutMs, signal }
  return openGuestStream(channels, ref, guestStreams.screen.path, ScreenFromGuest, options)
}
