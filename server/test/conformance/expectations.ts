import assert from 'node:assert/strict'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { DriverError, type MachineRef } from '../../src/drivers/machine-driver.ts'

/** Retries a call while it fails with a retryable error, as the worker would. */
export async function retry<T>(call: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + 30_000
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof DriverError && error.retryable) || Date.now() > deadline) throw error
      await sleep(50)
    }
  }
}

export async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000
  while (!(await holds())) {
    assert.ok(Date.now() < deadline, 'the condition did not hold within a minute')
    await sleep(50)
  }
}

/** Fails if the stream is open for another minute. */
export function isClosed(stream: Duplex): Promise<void> {
  return new Promise((resolve, reject) => {
    if (stream.closed) return resolve()
    const limit = setTimeout(() => reject(new Error('the stream was not closed')), 60_000)
    stream.on('error', () => {})
    stream.once('close', () => {
      clearTimeout(limit)
      resolve()
    })
    stream.resume()
  })
}

export function isDriverError(expected: { readonly retryable?: boolean }) {
  return (error: unknown) => {
    assert.ok(error instanceof DriverError, `not a DriverError: ${String(error)}`)
    if (expected.retryable !== undefined)
      assert.equal(error.retryable, expected.retryable, error.message)
    return true
  }
}

export function isSame(a: MachineRef, b: MachineRef): boolean {
  return a.id === b.id && a.generation === b.generation
}
