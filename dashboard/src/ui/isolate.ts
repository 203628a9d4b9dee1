const changesDirection = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufefc]/

/** A name inside a sentence that is plain text, where no `<bdi>` keeps it from turning the rest around. */
export function isolate(name: string): string {
  return changesDirection.test(name) ? `\u2068${name}\u2069` : name
}
