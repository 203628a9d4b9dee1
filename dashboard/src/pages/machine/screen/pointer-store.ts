import type { ScreenPointer } from '@computer/sdk'

export type PointerStore = ReturnType<typeof createPointerStore>

/** The pointers of others, apart from the state of the screen: they change many times a second. */
export function createPointerStore() {
  const listeners = new Set<() => void>()
  let pointers: readonly ScreenPointer[] = []
  return {
    read: () => pointers,
    subscribe(listener: () => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    set(next: readonly ScreenPointer[]) {
      pointers = next
      for (const listener of listeners) listener()
    },
  }
}
