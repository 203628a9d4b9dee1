import type { Machine } from '@computer/sdk'
import { notifyError } from '../../../ui/notify.ts'

/** A window that is being dragged has many sizes in a second. */
const settleMs = 150
/** What the server accepts. */
const smallest = { width: 320, height: 200 }
const largest = { width: 7680, height: 4320 }

/**
 * Gives the machine's display the size of the element, in CSS pixels: on a dense display the machine's own
 * pixels would be too small to read.
 */
export function matchWindow(host: HTMLElement, { display }: Machine, signal: AbortSignal): void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isResizing = false
  let done = ''
  const resize = async () => {
    if (isResizing || signal.aborted) return
    const width = clamp(host.clientWidth, smallest.width, largest.width)
    const height = clamp(host.clientHeight, smallest.height, largest.height)
    const size = `${width}x${height}`
    if (size === done) return
    isResizing = true
    try {
      await display.resize(width, height, { signal })
    } catch (error) {
      if (!signal.aborted) notifyError('The display could not match the window', error)
    }
    done = size
    isResizing = false
    // The window may have changed meanwhile.
    void resize()
  }
  const observer = new ResizeObserver(() => {
    clearTimeout(timer)
    timer = setTimeout(() => void resize(), settleMs)
  })
  observer.observe(host)
  signal.addEventListener('abort', () => {
    clearTimeout(timer)
    observer.disconnect()
  })
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, Math.floor(value)))
}
