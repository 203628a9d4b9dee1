/*
 * xterm writes its sizes and colours into <style> elements, and the colours of single cells into style
 * attributes of <span> elements. The security policy of the page refuses both. It allows constructed style
 * sheets and the property `style` of elements, so xterm gets those before it is loaded.
 */

/** In place of a <style> element: its text fills a style sheet of the document while it is connected. */
class StyleSheetElement extends HTMLElement {
  readonly #sheet = new CSSStyleSheet()
  #text = ''

  override get textContent(): string {
    return this.#text
  }

  override set textContent(text: string | null) {
    this.#text = text ?? ''
    this.#sheet.replaceSync(this.#text)
  }

  connectedCallback(): void {
    document.adoptedStyleSheets.push(this.#sheet)
  }

  disconnectedCallback(): void {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== this.#sheet)
  }
}

const tag = 'computer-style-sheet'

/** From now on scripts may create style elements and set the style attribute of spans. */
export function allowInlineStyles(): void {
  if (customElements.get(tag)) return
  customElements.define(tag, StyleSheetElement)
  const create = document.createElement.bind(document) as (...args: unknown[]) => HTMLElement
  document.createElement = ((name: string, options?: unknown) =>
    name === 'style' ? create(tag) : create(name, options)) as typeof document.createElement
  HTMLSpanElement.prototype.setAttribute = function setAttribute(name, value) {
    if (name === 'style') this.style.cssText = value
    else Element.prototype.setAttribute.call(this, name, value)
  }
}
