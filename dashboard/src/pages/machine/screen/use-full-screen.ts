import { useEffect, useState } from 'react'

type KeyboardLock = { lock(): Promise<void>; unlock(): void }

export type FullScreen = ReturnType<typeof useFullScreen>

/**
 * The whole page goes to full screen, because menus and notes are outside of the screen's element. Where the
 * browser has none, such as on some phones, the screen still fills its window.
 */
export function useFullScreen() {
  const [isFull, setFull] = useState(false)
  /** Esc and the browser's own keys reach the machine; holding Esc leaves. */
  const [isLocked, setLocked] = useState(false)
  useEffect(() => {
    const onChange = () => {
      if (document.fullscreenElement) return
      setFull(false)
      setLocked(false)
    }
    document.addEventListener('fullscreenchange', onChange)
    return () => {
      document.removeEventListener('fullscreenchange', onChange)
      if (document.fullscreenElement) void document.exitFullscreen().catch(() => {})
    }
  }, [])
  const toggle = async () => {
    if (isFull) {
      setFull(false)
      setLocked(false)
      keyboard()?.unlock()
      if (document.fullscreenElement) await document.exitFullscreen().catch(() => {})
      return
    }
    setFull(true)
    try {
      await document.documentElement.requestFullscreen()
      await keyboard()?.lock()
      setLocked(keyboard() !== undefined)
    } catch {
      // It is not allowed here; the screen fills the window.
    }
  }
  return { isFull, isLocked, toggle }
}

/** Absent in Firefox and Safari, and on plain http. */
function keyboard(): KeyboardLock | undefined {
  return (navigator as { keyboard?: KeyboardLock }).keyboard
}
