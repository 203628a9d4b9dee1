import type { Activity } from '@computer/sdk'
import { formatMoment } from '../../../format.ts'
import { ChevronDown, ChevronRight } from '../../../ui/icons.ts'
import { actorKind } from './activity-types.ts'
import { ActivityRow } from './ActivityRow.tsx'
import { Actor } from './ActivityText.tsx'
import { countInputs, countScreenInput, countUnknown } from './input-words.ts'
import { TimelineRow } from './TimelineRow.tsx'

/** A run of inputs of one actor, newest first, which opens. */
export function RunRow({
  inputs,
  isOpen,
  onToggle,
}: {
  readonly inputs: readonly Activity[]
  readonly isOpen: boolean
  readonly onToggle: () => void
}) {
  const { type, actor, occurredAt } = inputs[0]!
  const began = inputs.at(-1)!.occurredAt
  const unknown = countUnknown(inputs)
  const kind = actorKind(actor)
  return (
    <TimelineRow
      at={occurredAt}
      beside={
        <p>
          {kind && `${kind}, `}since{' '}
          <time dateTime={began} className="tabular-nums">
            {formatMoment(began)}
          </time>
        </p>
      }
      below={
        isOpen && (
          <ol aria-label="These inputs, newest first" className="ml-2 border-l border-line">
            {inputs.map((input) => (
              <ActivityRow key={input.id} activity={input} isInRun />
            ))}
          </ol>
        )
      }
    >
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={onToggle}
        className="-ml-1 flex items-start gap-1 rounded px-1 text-left wrap-anywhere hover:bg-hover [&_svg]:mt-1 [&_svg]:size-3.5 [&_svg]:shrink-0"
      >
        {isOpen ? <ChevronDown aria-hidden /> : <ChevronRight aria-hidden />}
        <span>
          <Actor actor={actor} />{' '}
          {type === 'viewer.input'
            ? `on the live screen: ${countScreenInput(inputs)}`
            : `sent ${countInputs(inputs)}`}
          {unknown > 0 && (
            <span className="text-warn"> – {unknown} broke off, and may have had an effect</span>
          )}
        </span>
      </button>
    </TimelineRow>
  )
}
