import type { Screen } from '@computer/sdk'

type ChannelEvents = {
  readonly onFrame: (data: ArrayBuffer) => void
  readonly onClose: (code: number) => void
}
type Listener = Screen['onmessage']
type CloseListener = ((event: { readonly code: number; readonly reason: string }) => void) | null

/** The SDK's open screen as noVNC's channel, with an eye on its frames and its end. */
export function tapChannel(screen: Screen, { onFrame, onClose }: ChannelEvents) {
  let hasEnded = false
  const end = (code: number) => {
    if (hasEnded) return
    hasEnded = true
    // noVNC closes the channel in the middle of a change of its own state.
    queueMicrotask(() => {
      onClose(code)
      channel.onclose?.({ code, reason: '' })
    })
  }
  const channel = {
    binaryType: 'arraybuffer',
    protocol: '',
    onopen: null,
    onerror: null,
    onclose: null as CloseListener,
    get readyState() {
      return hasEnded ? 3 : screen.readyState
    },
    get onmessage(): Listener {
      return screen.onmessage
    },
    set onmessage(listener: Listener) {
      screen.onmessage =
        listener &&
        ((event) => {
          onFrame(event.data)
          listener(event)
        })
    },
    send: (data: Uint8Array<ArrayBuffer>) => screen.send(data),
    close() {
      screen.close()
      // The answer may never come, if the network is gone.
      end(1000)
    },
  }
  screen.onclose = ({ code }) => end(code)
  return channel
}
