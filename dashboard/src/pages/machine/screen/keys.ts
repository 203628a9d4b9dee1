import { notifyError } from '../../../ui/notify.ts'
import { keys, type Key } from './key-codes.ts'
import type { Viewer } from './viewer.ts'

/*
 * What happens to keys before noVNC gets them. Pasting takes a moment, in which what is typed next waits, so
 * that it arrives after the pasted text.
 */

export function handleKeys(
  host: HTMLElement,
  viewer: Pick<Viewer, 'sendKey' | 'canvas'>,
  {
    writeClipboard,
    onLeave,
    signal,
  }: {
    /** Resolves once what is pasted in the machine is this text. */
    readonly writeClipboard: (text: string) => Promise<void>
    readonly onLeave: () => void
    readonly signal: AbortSignal
  },
) {
  let isActive = false
  /** Keys that were typed during a paste. Null: none is in progress. */
  let waiting: KeyboardEvent[] | null = null
  let ownText: string | null = null
  const down = new Map<string, KeyboardEvent>()

  const press = (...combination: readonly Key[]) => {
    for (const [keysym, code] of combination) viewer.sendKey(keysym, code, true)
    for (const [keysym, code] of combination.toReversed()) viewer.sendKey(keysym, code, false)
  }
  /** Keys whose release goes elsewhere would stay pressed in the machine. */
  const releaseAll = () => {
    for (const event of down.values()) viewer.canvas()?.dispatchEvent(copyOf(event, 'keyup'))
    down.clear()
  }
  const paste = async (text: string) => {
    if (text === '') return
    ownText = text
    await writeClipboard(text)
    press(keys.control, keys.v)
  }
  /** Sends V with the modifiers that the person holds down; Cmd becomes Ctrl. */
  const pasteByKeys = async (text: string, { metaKey, shiftKey }: KeyboardEvent) => {
    const held = (waiting ??= [])
    try {
      if (text !== '') {
        ownText = text
        await writeClipboard(text)
        if (metaKey) {
          releaseAll()
          press(keys.control, keys.v)
        } else press(shiftKey ? [0x56, 'KeyV'] : keys.v)
      }
    } catch (error) {
      notifyError('The text was not pasted', error)
    }
    waiting = null
    for (const event of held) viewer.canvas()?.dispatchEvent(copyOf(event, event.type))
  }

  const onKey = (event: KeyboardEvent) => {
    if (!isActive || !event.isTrusted) return
    if (isLeave(event)) {
      stop(event)
      if (event.type !== 'keydown') return
      releaseAll()
      onLeave()
      return
    }
    if (waiting) {
      stop(event)
      waiting.push(event)
      if (event.type === 'keydown') down.set(event.code, event)
      else down.delete(event.code)
      return
    }
    if (isPaste(event)) {
      // Without this noVNC would prevent the browser's own paste, which brings the text.
      event.stopPropagation()
      if (event.type === 'keydown' && !event.repeat) pasteKey = event
      return
    }
    if (event.type === 'keydown') down.set(event.code, event)
    else down.delete(event.code)
  }
  let pasteKey: KeyboardEvent | null = null
  const onPaste = (event: ClipboardEvent) => {
    const key = pasteKey
    pasteKey = null
    if (!isActive || !key || !host.contains(document.activeElement)) return
    stop(event)
    void pasteByKeys(event.clipboardData?.getData('text/plain') ?? '', key)
  }
  const options = { capture: true, signal }
  host.addEventListener('keydown', onKey, options)
  host.addEventListener('keyup', onKey, options)
  host.addEventListener('focusout', releaseAll, options)
  // The canvas is not editable, so browsers differ in where they tell of a paste.
  document.addEventListener('paste', onPaste, options)
  // Safari pastes into what is not editable only if it is asked to.
  document.addEventListener(
    'beforepaste',
    (event) => isActive && host.contains(document.activeElement) && event.preventDefault(),
    options,
  )

  return {
    setActive(next: boolean) {
      isActive = next
      waiting = null
      down.clear()
    },
    /** Presses keys together and releases them. */
    press,
    /** Puts text into the machine's clipboard and presses Ctrl V. */
    paste,
    /** The machine reports text that this page has put into its clipboard. */
    isOwn: (text: string) => text === ownText,
  }
}

function isLeave({ ctrlKey, altKey, code }: KeyboardEvent): boolean {
  return ctrlKey && altKey && code === 'Escape'
}

function isPaste({ ctrlKey, metaKey, altKey, code, key }: KeyboardEvent): boolean {
  const isV = key.toLowerCase() === 'v' || (code === 'KeyV' && !/^[a-z]$/i.test(key))
  return isV && !altKey && ctrlKey !== metaKey
}

function stop(event: Event): void {
  event.preventDefault()
  event.stopPropagation()
}

function copyOf(event: KeyboardEvent, type: string): KeyboardEvent {
  const { key, code, location, repeat, ctrlKey, shiftKey, altKey, metaKey } = event
  return new KeyboardEvent(type, {
    key,
    code,
    location,
    repeat,
    ctrlKey,
    shiftKey,
    altKey,
    metaKey,
    modifierCapsLock: event.getModifierState('CapsLock'),
    modifierNumLock: event.getModifierState('NumLock'),
  })
}
