import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { IncusClient } from './client.ts'
import { removeInstance } from './instances.ts'
import { EngineError } from './replies.ts'

test('a running instance is removed, however long its forced stop takes', async (t) => {
  t.mock.timers.enable({ apis: ['Date'] })
  let status: 'Running' | 'Stopped' | undefined = 'Running'
  const calls: string[] = []
  const client = {
    async get() {
      if (status === undefined) throw new EngineError('not found', { status: 404 })
      return { name: 'm', status }
    },
    async change(method: string) {
      calls.push(method)
      if (method === 'PUT') {
        t.mock.timers.tick(60_000)
        status = 'Stopped'
      } else if (status === 'Running') {
        throw new EngineError('the instance is running', { status: 400 })
      } else {
        status = undefined
      }
    },
  }
  await removeInstance({ client: client as unknown as IncusClient, project: 'test' }, 'm')
  assert.deepEqual(calls, ['DELETE', 'PUT', 'DELETE'])
})

test('an instance that keeps refusing its removal is given up after some seconds', async (t) => {
  t.mock.timers.enable({ apis: ['Date'] })
  const client = {
    get: async () => ({ name: 'm', status: 'Stopped' }),
    async change() {
      t.mock.timers.tick(2_000)
      throw new EngineError('the instance is busy', { status: 400 })
    },
  }
  await assert.rejects(
    removeInstance({ client: client as unknown as IncusClient, project: 'test' }, 'm'),
    { name: 'DriverError', retryable: true, message: 'the machine keeps changing its state' },
  )
})
