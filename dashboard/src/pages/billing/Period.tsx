import type { UsageSummary } from '@computer/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { summaryQuery } from '../../api/billing.ts'
import { formatMoney, formatPeriodDay } from '../../format.ts'
import { formatHours, formatQuantity, meterWords } from '../../quantities.ts'
import { Badge } from '../../ui/Badge.tsx'
import { Meter } from '../../ui/Meter.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Cell, Row, Table } from '../../ui/Table.tsx'
import { lastDayOf } from './Account.tsx'
import { Part } from './Part.tsx'

const link = 'text-accent-fg underline-offset-2 hover:underline'

/** What one period used and what it costs, line by line. */
export function Period() {
  const { period } = useSearch({ from: '/app/billing' })
  const query = useQuery(summaryQuery(period))
  return (
    <Part
      title="Use of the period"
      aside={
        <nav aria-label="Periods" className="flex gap-4">
          {query.data && (
            <Link to="/billing" search={{ period: before(query.data) }} className={link}>
              The period before
            </Link>
          )}
          {period !== undefined && (
            <Link to="/billing" className={link}>
              The current period
            </Link>
          )}
        </nav>
      }
    >
      <QueryView query={query}>{(summary) => <Summary summary={summary} />}</QueryView>
    </Part>
  )
}

function Summary({ summary }: { readonly summary: UsageSummary }) {
  const { status, periodStart, periodEnd, computeCredits, lines, adjustments } = summary
  const { totalCents, currency } = summary
  return (
    <div className="space-y-3">
      <p className="flex flex-wrap items-center gap-2 text-muted">
        {formatPeriodDay(periodStart)} until {formatPeriodDay(lastDayOf(periodEnd))}
        <Badge tone={status === 'final' ? 'good' : 'quiet'}>
          {status === 'final' ? 'Final' : 'Until now'}
        </Badge>
      </p>
      <Meter
        label="Included compute"
        used={Number(computeCredits.used)}
        of={Math.max(Number(computeCredits.included), Number.MIN_VALUE)}
        text={`${formatHours(computeCredits.used)} of ${formatHours(computeCredits.included)} standard-hours`}
        note="A standard-hour is an hour of a machine of the size standard."
      />
      <Table
        label="Lines of the period"
        head={['Used for', 'Used', 'Included', 'Beyond', 'Amount']}
      >
        {lines.map(({ meter, quantity, included, billable, amountCents }) => (
          <Row key={meter}>
            <Cell>{meterWords[meter]}</Cell>
            <Cell className="tabular-nums">{formatQuantity(meter, quantity)}</Cell>
            <Cell className="tabular-nums">{formatQuantity(meter, included)}</Cell>
            <Cell className="tabular-nums">{formatQuantity(meter, billable)}</Cell>
            <Cell className="tabular-nums">{formatMoney(amountCents, currency)}</Cell>
          </Row>
        ))}
        {adjustments.map((adjustment) => (
          <Row key={adjustment.createdAt}>
            <Cell>Correction: {adjustment.reason}</Cell>
            <Cell>{''}</Cell>
            <Cell>{''}</Cell>
            <Cell>{''}</Cell>
            <Cell className="tabular-nums">
              {formatMoney(adjustment.amountCents, adjustment.currency)}
            </Cell>
          </Row>
        ))}
        <Row>
          <Cell className="font-medium">Total of the use</Cell>
          <Cell>{''}</Cell>
          <Cell>{''}</Cell>
          <Cell>{''}</Cell>
          <Cell className="font-medium tabular-nums">{formatMoney(totalCents, currency)}</Cell>
        </Row>
      </Table>
      <p className="text-muted">
        The price of the plan itself is not in the total.{' '}
        <Link to="/usage" className={link}>
          See the use over time and by machine
        </Link>
      </p>
    </div>
  )
}

function before({ periodStart }: UsageSummary): string {
  return new Date(Date.parse(periodStart) - 1).toISOString()
}
