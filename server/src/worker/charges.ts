import type { App } from '../app.ts'
import type { PeriodRow } from '../db/database.ts'
import { claimCharge, postponeCharge, readBill, recordStep } from '../domain/billing/charges.ts'
import type { Bill } from '../payments/provider.ts'
import { pause } from '../pace.ts'
import { backoffMs } from '../timing.ts'
import { logFailure } from './queue.ts'

/** Charges final periods until the signal is aborted. However often a step breaks off, one invoice results. */
export async function chargePeriods(
  app: Pick<App, 'timing' | 'db' | 'log' | 'payments'>,
  signal: AbortSignal,
): Promise<void> {
  if (!app.payments.collectsPayments) return
  while (!signal.aborted) {
    const period = await logFailure(app, () => claimCharge(app.db))
    if (period) await logFailure(app, () => chargePeriod(app, period))
    else await pause(app.timing.pollMs, signal)
  }
}

/** Does the steps that are left of a claimed period. */
export async function chargePeriod(
  app: Pick<App, 'timing' | 'db' | 'log' | 'payments'>,
  period: PeriodRow,
): Promise<void> {
  let row: PeriodRow | undefined = period
  try {
    const bill = await readBill(app.db, period)
    while (row && row.invoice_state !== 'sent') row = await doStep(app, row, bill)
  } catch (error) {
    const fields = { err: error, organization_id: period.organization_id, period_id: period.id }
    app.log.warn(fields, 'could not charge a billing period; will retry')
    const reason = error instanceof Error ? error.message : String(error)
    const delayMs = backoffMs(app.timing.paymentRetry, period.invoice_attempts - 1)
    await postponeCharge(app.db, row ?? period, { reason, delayMs })
  }
}

async function doStep(
  { db, payments: { charge } }: Pick<App, 'db' | 'payments'>,
  row: PeriodRow,
  bill: Bill,
): Promise<PeriodRow | undefined> {
  switch (row.invoice_state) {
    case 'due': {
      const invoiceId = await charge.draft(bill)
      return recordStep(db, row, { state: 'drafted', invoiceId })
    }
    case 'drafted': {
      const invoiceId = row.invoice_id!
      await charge.fill(invoiceId, bill)
      return recordStep(db, row, { state: 'filled', invoiceId })
    }
    case 'filled': {
      const invoiceId = row.invoice_id!
      await charge.send(invoiceId, bill)
      return recordStep(db, row, { state: 'sent', invoiceId })
    }
    default:
      throw new Error(`billing period ${row.id} is in no step of a charge`)
  }
}
