import type { Viewer } from './viewer.ts'

/** noVNC lays this element over the page while a button is held. */
const captureId = 'noVNC_mouse_capture_elem'

/** Shows the others on the screen where the person points, for as long as that is on the picture. */
export function shareOwnPointer(
  host: HTMLElement,
  { canvas, point }: Pick<Viewer, 'canvas' | 'point'>,
  signal: AbortSignal,
): void {
  const onMove = (event: PointerEvent) => {
    const target = event.target as Element
    const picture = host.contains(target) || target.id === captureId ? canvas() : null
    point(picture && pixelAt(picture, event))
  }
  const onGone = () => point(null)
  document.addEventListener('pointermove', onMove, { signal })
  // A finger was lifted, or the mouse has left the window.
  document.documentElement.addEventListener('pointerleave', onGone, { signal })
  document.addEventListener('visibilitychange', onGone, { signal })
}

/** The pixel of the display under a point of the page, or null. */
function pixelAt(canvas: HTMLCanvasElement, { clientX, clientY }: PointerEvent) {
  const { left, top, width, height } = canvas.getBoundingClientRect()
  const x = Math.floor(((clientX - left) / width) * canvas.width)
  const y = Math.floor(((clientY - top) / height) * canvas.height)
  return x >= 0 && y >= 0 && x < canvas.width && y < canvas.height ? { x, y } : null
}
