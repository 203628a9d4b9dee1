import * as contract from '@computer/contract'
import * as tables from '@computer/sdk/tables'
import assert from 'node:assert/strict'
import { test } from 'node:test'

const { limits } = tables

test('the tables are those of the contract', () => {
  assert.deepEqual(tables.machineTransitions, contract.machineTransitions)
  assert.deepEqual(tables.settledStates, contract.restingStates)
  assert.deepEqual(tables.rolePermissions, contract.rolePermissions)
  assert.deepEqual(tables.scopePermissions, contract.scopePermissions)
  assert.deepEqual(tables.apiKeyScopes, contract.ApiKeyScope.options)
  assert.deepEqual(tables.machineEventTypes, contract.MachineEventType.options)
  assert.deepEqual(tables.auditEventTypes, contract.AuditEventType.options)
  assert.deepEqual(tables.errorStatus, contract.errorStatus)
  assert.deepEqual(tables.closeCodes, contract.closeCode)
})

test('each pattern is one that browsers accept, and agrees with the contract', () => {
  // The flag of the attribute `pattern`.
  const name = new RegExp(limits.machineName.pattern, 'v')
  for (const text of ['a', 'a-b', '7', 'a-', '-a', 'A', '', 'a_b', 'a b'])
    assert.equal(name.test(text), contract.MachineName.safeParse(text).success, text)
  const secret = new RegExp(limits.secretName.pattern, 'v')
  const reserved = new RegExp(limits.secretName.reserved, 'v')
  for (const text of ['A', '_A', 'A_1', '1A', 'a', 'A-B', 'PATH', 'PATHS', 'LD_PRELOAD']) {
    const isAllowed = contract.PutSecret.safeParse({ name: text, value: '' }).success
    assert.equal(secret.test(text) && !reserved.test(text), isAllowed, text)
  }
})

test('the longest that a limit allows is accepted, and no more', () => {
  const accepts = {
    machineName: (text: string) => contract.MachineName.safeParse(text).success,
    password: (text: string) => contract.Password.safeParse(text).success,
    personName: (text: string) => contract.PersonName.safeParse(text).success,
    secretName: (text: string) => contract.SecretName.safeParse(text.toUpperCase()).success,
  }
  for (const [field, isAccepted] of Object.entries(accepts)) {
    const { minLength, maxLength } = limits[field as keyof typeof accepts]
    const lengths = [minLength - 1, minLength, maxLength, maxLength + 1]
    const results = lengths.map((length) => isAccepted('a'.repeat(length)))
    assert.deepEqual(results, [false, true, true, false], field)
  }
  const { maxKeys, key, value } = limits.metadata
  const isAllowed = (keys: number, keyLength: number, valueLength: number) => {
    const pairs = Array.from({ length: keys }, (_, number) => [
      String(number).padEnd(keyLength, '-'),
      'a'.repeat(valueLength),
    ])
    return contract.CreateMachine.safeParse({ metadata: Object.fromEntries(pairs) }).success
  }
  assert.equal(isAllowed(maxKeys, key.maxLength, value.maxLength), true)
  assert.equal(isAllowed(maxKeys + 1, key.maxLength, value.maxLength), false)
  assert.equal(isAllowed(1, key.maxLength + 1, value.maxLength), false)
  assert.equal(isAllowed(1, key.maxLength, value.maxLength + 1), false)
})
