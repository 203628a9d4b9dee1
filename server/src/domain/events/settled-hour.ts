import { transactionsEndWithinMs } from '../../db/database.ts'
import { endOfHour, startOfHour } from '../calendar.ts'

/** The last whole hour until which no transaction can add usage any more. */
export function settledHour(now: Date): Date {
  return startOfHour(new Date(now.getTime() - transactionsEndWithinMs))
}

/** When that hour is a later one than it is now. */
export function nextSettling(now: Date): Date {
  return new Date(endOfHour(settledHour(now)).getTime() + transactionsEndWithinMs)
}
