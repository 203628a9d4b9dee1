import { ApiError, type MachineRecord } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { thumbnailQuery } from '../../api/thumbnails.ts'
import { Monitor } from '../../ui/icons.ts'
import { useObjectUrl } from '../../ui/use-object-url.ts'
import { stateWords } from '../../words.ts'

/** The screen of a machine, renewed only while the card can be seen. */
export function Thumbnail({ machine }: { readonly machine: MachineRecord }) {
  const holder = useRef<HTMLDivElement>(null)
  const isVisible = useIsVisible(holder)
  const { data: picture, error } = useQuery(thumbnailQuery(machine, isVisible))
  const isPrivate = error instanceof ApiError && error.code === 'conflict'
  const isShown = machine.state === 'running' && !isPrivate
  const url = useObjectUrl(isShown ? picture : undefined)
  return (
    <div
      ref={holder}
      className="flex aspect-[16/10] items-center justify-center overflow-hidden bg-sunken"
    >
      {url ? (
        <img src={url} alt="" className="size-full object-cover object-top" />
      ) : (
        <span className="flex flex-col items-center gap-1 text-xs text-muted">
          <Monitor className="size-5" aria-hidden />
          {isPrivate
            ? 'Its screen is private now'
            : machine.state === 'running'
              ? 'Starting its desktop'
              : stateWords[machine.state]}
        </span>
      )}
    </div>
  )
}

function useIsVisible(holder: React.RefObject<HTMLElement | null>): boolean {
  const [isVisible, setVisible] = useState(false)
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) =>
      setVisible(entry?.isIntersecting ?? false),
    )
    observer.observe(holder.current!)
    return () => observer.disconnect()
  }, [holder])
  return isVisible
}
