/*
 * xterm writes its colours and sizes into <style> elements and style attributes, which the security policy
 * of the page refuses. Constructed style sheets and properties of `element.style` it allows, so xterm gets
 * elements that use those: this file is installed before xterm is loaded.
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

/** From now on `document.createElement('style')` makes elements that the policy allows. */
export function replaceStyleElements(): void {
  if (customElements.get(tag)) return
  customElements.define(tag, StyleSheetElement)
  const create = document.createElement.bind(document) as (...args: unknown[]) => HTMLElement
  document.createElement = ((name: string, options?: unknown) =>
    name === 'style' ? create(tag) : create(name, options)) as typeof document.createElement
}

/** The document, except that the style attribute of its new elements can be set. */
export function documentForXterm(): Document {
  return new Proxy(document, {
    get(target, key) {
      if (key === 'createElement') return createStyleable
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

function createStyleable(name: string): HTMLElement {
  const element = document.createElement(name)
  element.setAttribute = setAttribute
  return element
}

function setAttribute(this: HTMLElement, name: string, value: string): void {
  if (name === 'style') this.style.cssText = value
  else Element.prototype.setAttribute.call(this, name, value)
}
