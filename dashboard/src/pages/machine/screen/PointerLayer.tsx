import type { ScreenPointer } from '@computer/sdk'
import { useLayoutEffect, useRef, useSyncExternalStore } from 'react'
import { cx } from '../../../ui/cx.ts'
import { Bot } from '../../../ui/icons.ts'
import type { LiveScreen } from './live-screen.ts'

/** The pointers of others, over the picture. The words beside the screen tell who drives, so these are not read out. */
export function PointerLayer({
  screen,
}: {
  readonly screen: Pick<LiveScreen, 'pointers' | 'canvas'>
}) {
  const pointers = useSyncExternalStore(screen.pointers.subscribe, screen.pointers.read)
  const canvas = screen.canvas()
  if (pointers.length === 0 || !canvas) return null
  return <Pointers pointers={pointers} canvas={canvas} />
}

function Pointers({
  pointers,
  canvas,
}: {
  readonly pointers: readonly ScreenPointer[]
  readonly canvas: HTMLCanvasElement
}) {
  const layer = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => keepOver(layer.current!, canvas), [canvas])
  return (
    <div
      ref={layer}
      aria-hidden="true"
      className="pointer-events-none absolute @container overflow-hidden select-none"
    >
      {pointers.map((pointer) => (
        <Pointer
          key={pointer.id}
          pointer={pointer}
          isRight={pointer.at.x * 3 > canvas.width * 2}
          isLow={pointer.at.y * 10 > canvas.height * 9}
        />
      ))}
    </div>
  )
}

/** Near the right and the lower edge, the name is on the other side of the arrow, so that it is not cut off. */
function Pointer({
  pointer: { name, kind, at, clicked },
  isRight,
  isLow,
}: {
  readonly pointer: ScreenPointer
  readonly isRight: boolean
  readonly isLow: boolean
}) {
  const isAgent = kind === 'agent'
  return (
    <div
      data-pointer={kind}
      data-clicked={clicked || undefined}
      className={cx(
        'absolute size-0 ease-linear motion-safe:transition-[left,top] motion-safe:duration-75',
        isAgent ? 'text-fg [--edge:var(--page)]' : 'text-accent [--edge:white]',
      )}
      style={{ left: `calc(var(--scale) * ${at.x})`, top: `calc(var(--scale) * ${at.y})` }}
    >
      {clicked && (
        <span className="absolute -top-3.5 -left-3.5 size-7 rounded-full border-2 border-current outline outline-(--edge)" />
      )}
      <svg viewBox="0 0 14 18" className="absolute h-4.5 w-3.5 fill-current stroke-(--edge)">
        <path d="M.5.5v15l4-4h7z" />
      </svg>
      <span
        className={cx(
          'absolute flex w-max max-w-[min(10rem,30cqi)] items-center gap-1 rounded px-1.5 text-xs/5 outline outline-(--edge)',
          isRight ? 'right-1' : 'left-3',
          isLow ? 'bottom-1' : 'top-4',
          isAgent ? 'bg-fg text-page' : 'bg-accent text-white',
        )}
      >
        {isAgent && <Bot className="size-3 shrink-0" />}
        <bdi className="truncate">{name}</bdi>
      </span>
    </div>
  )
}

/** Lays an element over a picture, with the size of one pixel of the display as `--scale`. */
function keepOver(layer: HTMLElement, canvas: HTMLCanvasElement): () => void {
  const frame = layer.parentElement!
  const place = () => {
    const outer = frame.getBoundingClientRect()
    const { left, top, width, height } = canvas.getBoundingClientRect()
    layer.style.left = `${left - outer.left}px`
    layer.style.top = `${top - outer.top}px`
    layer.style.width = `${width}px`
    layer.style.height = `${height}px`
    layer.style.setProperty('--scale', `${width / canvas.width}px`)
  }
  place()
  const observer = new ResizeObserver(place)
  for (const element of [frame, canvas]) observer.observe(element)
  // A picture at its actual size is scrolled, which does not bubble.
  frame.addEventListener('scroll', place, { capture: true, passive: true })
  return () => {
    observer.disconnect()
    frame.removeEventListener('scroll', place, { capture: true })
  }
}
