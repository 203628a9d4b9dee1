/** The parts of noVNC that are used: https://github.com/novnc/noVNC/blob/v1.7.0/docs/API.md */
declare module '@novnc/novnc' {
  export default class RFB extends EventTarget {
    constructor(target: HTMLElement, channel: object, options?: { readonly shared?: boolean })
    viewOnly: boolean
    scaleViewport: boolean
    background: string
    sendKey(keysym: number, code: string | null, down?: boolean): void
    clipboardPasteFrom(text: string): void
    focus(options?: FocusOptions): void
    disconnect(): void
  }
}
