import { ApiError } from '@computer/sdk'
import { useState, type FormEvent } from 'react'

export type FormState = {
  readonly isBusy: boolean
  /** The error of the last submission, unless all of it is shown at the fields. */
  readonly error: unknown
  /** The server's message for a field of the request, in the names of the wire, such as `snapshot_id`. */
  readonly errorOf: (field: string) => string | undefined
  readonly submit: (event: FormEvent<HTMLFormElement>) => void
}

/** Submits a form: one call at a time, with the server's `details` at the fields named in `fields`. */
export function useForm(
  fields: readonly string[],
  send: (values: FormData) => Promise<unknown>,
): FormState {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const details = error instanceof ApiError ? error.details : []
  const isAtFields = details.length > 0 && details.every(({ field }) => fields.includes(field))
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (isBusy) return
    setBusy(true)
    setError(undefined)
    try {
      await send(new FormData(event.currentTarget))
    } catch (caught) {
      setError(caught)
    } finally {
      setBusy(false)
    }
  }
  return {
    isBusy,
    error: isAtFields ? undefined : error,
    errorOf: (name) => details.find(({ field }) => field === name)?.message,
    submit: (event) => void submit(event),
  }
}
