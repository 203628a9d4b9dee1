import type { Input } from './input.ts'
import type { InputOptions } from './options.ts'

/** The keyboard. Keys are X keysym names such as `F5`, or aliases such as `enter`, in any case. */
export class Keyboard {
  readonly #input: Input

  constructor(input: Input) {
    this.#input = input
  }

  /** Types text, any Unicode. Texts over 10,000 characters are sent in several calls. */
  async type(
    text: string,
    { delayMs, ...options }: InputOptions & { readonly delayMs?: number | undefined } = {},
  ): Promise<void> {
    for (const part of splitText(text)) {
      const body = { text: part, delayMs }
      await this.#input.send('POST /v1/machines/{machine_id}/keyboard/type', body, options)
    }
  }

  /** Presses one key, or a combination joined by `+`: `enter`, `ctrl+shift+t`. */
  async press(keys: string, options: InputOptions = {}): Promise<void> {
    // A + alone, or at the end, is the plus key.
    const names = keys.split(/(?<=[^+])\+(?=.)/)
    if (names.length > 1) return this.hotkey(names, options)
    await this.#input.send(
      'POST /v1/machines/{machine_id}/keyboard/key',
      { key: named(keys) },
      options,
    )
  }

  /** Presses keys in order and releases them in reverse. */
  async hotkey(keys: readonly string[], options: InputOptions = {}): Promise<void> {
    const body = { keys: keys.map(named) }
    await this.#input.send('POST /v1/machines/{machine_id}/keyboard/hotkey', body, options)
  }

  /** Holds a key down, until `up`. */
  async down(key: string, options: InputOptions = {}): Promise<void> {
    const body = { key: named(key), down: true }
    await this.#input.send('POST /v1/machines/{machine_id}/keyboard/key', body, options)
  }

  async up(key: string, options: InputOptions = {}): Promise<void> {
    const body = { key: named(key), up: true }
    await this.#input.send('POST /v1/machines/{machine_id}/keyboard/key', body, options)
  }
}

const maxTextLength = 10_000

/** Splits text into parts of the maximum length, never inside a surrogate pair. */
function splitText(text: string): string[] {
  const parts: string[] = []
  for (let start = 0; start < text.length || parts.length === 0;) {
    let end = Math.min(start + maxTextLength, text.length)
    if (end < text.length && /[\uD800-\uDBFF]/.test(text[end - 1]!)) end--
    parts.push(text.slice(start, end))
    start = end
    if (text.length === 0) break
  }
  return parts
}

function named(key: string): string {
  return key === '+' ? 'plus' : key
}
