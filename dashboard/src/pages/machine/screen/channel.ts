import type { Screen } from '@computer/sdk'

/** The members of the SDK's open screen that the tap needs. */
export type ScreenChannel = Pick<
  Screen,
  'onmessage' | 'onclose' | 'readyState' | 'send' | 'close' | 'point'
>

type ChannelEvents = {
  readonly onFrame: (data: ArrayBuffer) => void
  /** Text for the clipboard has been sent. */
  readonly onText: () => void
  readonly onClose: (code: number) => void
}
type Listener = Screen['onmessage']
type CloseListener = ((event: { readonly code: number; readonly reason: string }) => void) | null

/** An open screen as noVNC's channel, with an eye on its frames and its end. */
export function tapChannel(screen: ScreenChannel, { onFrame, onText, onClose }: ChannelEvents) {
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
    send(data: Uint8Array<ArrayBuffer>) {
      screen.send(data)
      if (hasText(data)) onText()
    },
    close() {
      screen.close()
      // The answer may never come, if the network is gone.
      end(1000)
    },
  }
  screen.onclose = ({ code }) => end(code)
  return channel
}

const clientCutText = 6
const provides = 1 << 28

/** A client's message with text; in the extended form, whose length is negative, others only speak of it. */
function hasText(data: Uint8Array<ArrayBuffer>): boolean {
  if (data[0] !== clientCutText || data.length < 8) return false
  const message = new DataView(data.buffer, data.byteOffset)
  if (message.getInt32(4) >= 0) return true
  return data.length >= 12 && (message.getInt32(8) & provides) !== 0
}
