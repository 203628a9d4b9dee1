import type { BillingAccount } from '@computer/sdk'
import { formatNumber } from '../../format.ts'
import { Meter } from '../../ui/Meter.tsx'
import { quotaWords } from '../../words.ts'
import { Part } from './Part.tsx'

/** What is used of each limit of the plan. */
export function Limits({ account: { limits, largestSize } }: { readonly account: BillingAccount }) {
  return (
    <Part title="Limits">
      <div className="grid grid-cols-2 gap-3 lg:grid-cols-3">
        {limits.map(({ key, current, limit }) => (
          <Meter
            key={key}
            label={titleOf(quotaWords[key])}
            used={limit === null ? null : current}
            of={limit ?? 1}
            text={
              limit === null
                ? `${formatNumber(current)}, none agreed`
                : `${formatNumber(current)} of ${formatNumber(limit)}`
            }
            note={key === 'snapshots_per_machine' ? 'Of the machine that has the most.' : undefined}
          />
        ))}
      </div>
      <p className="mt-2 text-muted">The largest size of a machine is {largestSize}.</p>
    </Part>
  )
}

function titleOf(words: string): string {
  return words[0]!.toUpperCase() + words.slice(1)
}
