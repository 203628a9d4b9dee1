import { Tooltip as Base } from '@base-ui/react/tooltip'
import type { ReactElement } from 'react'

/** A hint beside its trigger, on hover and focus. It repeats what the trigger's name or description says. */
export function Tooltip({
  text,
  children,
}: {
  readonly text: string
  readonly children: ReactElement
}) {
  return (
    <Base.Root>
      <Base.Trigger delay={300} render={children} />
      <Base.Portal>
        <Base.Positioner sideOffset={6} className="z-50">
          <Base.Popup className="max-w-72 rounded-md bg-fg px-2 py-1 text-xs text-page shadow-pop">
            {text}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}
