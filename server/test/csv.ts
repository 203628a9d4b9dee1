import { parse } from 'csv-parse/sync'

/** The rows of a CSV file with a head, by column. */
export function parseCsv(text: string): Record<string, string>[] {
  return parse(text, { columns: true })
}
