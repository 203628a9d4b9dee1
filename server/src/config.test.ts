import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from './config.ts'

test('the addresses for browsers and mails follow from the base URL', () => {
  const { origins, trustProxy, signup, signupPlan, smtpUrl, ...config } = readConfig({})
  assert.deepEqual([origins, trustProxy, smtpUrl], [null, [], null])
  assert.deepEqual([signup, signupPlan], ['open', 'free'])
  assert.equal(config.dashboardUrl, 'http://127.0.0.1:7080')
  assert.equal(config.mailFrom, 'computer@127.0.0.1')

  const other = readConfig({ COMPUTER_BASE_URL: 'https://computer.example.com/' })
  assert.equal(other.dashboardUrl, 'https://computer.example.com')
  assert.equal(other.mailFrom, 'computer@computer.example.com')
})

test('lists are separated by commas', () => {
  const { origins, trustProxy } = readConfig({
    COMPUTER_ORIGINS: 'https://a.example, http://localhost:5173',
    COMPUTER_TRUST_PROXY: '127.0.0.1, ::1, 10.0.0.0/8,fd00::/8',
  })
  assert.deepEqual(origins, ['https://a.example', 'http://localhost:5173'])
  assert.deepEqual(trustProxy, ['127.0.0.1', '::1', '10.0.0.0/8', 'fd00::/8'])
})

test('an invalid value is refused by the name of its variable', () => {
  const bad: [variable: string, values: readonly string[]][] = [
    [
      'COMPUTER_ORIGINS',
      ['', '*', 'null', 'a.example', 'https://a.example/', 'HTTPS://a.example', 'ws://a.example'],
    ],
    ['COMPUTER_ORIGINS', ['https://a.example:443', 'https://A.example', 'https://a.example,']],
    ['COMPUTER_TRUST_PROXY', ['', 'true', 'localhost', '10.0.0.0/33', '10.0.0.0/0', '::/129']],
    ['COMPUTER_TRUST_PROXY', ['10.0.0.0/8/8', '10.0.0.0/', '10.0.0.1,,']],
    ['COMPUTER_BASE_URL', ['computer.example.com', 'ftp://computer.example.com']],
    ['COMPUTER_DASHBOARD_URL', ['javascript:alert(1)']],
    ['COMPUTER_SIGNUP', ['yes', '']],
    ['COMPUTER_SIGNUP_PLAN', ['gold']],
    ['COMPUTER_SMTP_URL', ['mail.example.com', 'http://mail.example.com']],
    ['COMPUTER_STRIPE_SECRET_KEY', ['pk_test_1', 'secret', 'sk_test_1']],
    ['COMPUTER_STRIPE_WEBHOOK_SECRET', ['secret', 'whsec_1']],
    ['COMPUTER_STRIPE_API_URL', ['api.stripe.com', 'https://api.stripe.com']],
    ['COMPUTER_MAIL_FROM', ['computer', 'a@example.com\r\nbcc: b@example.com']],
  ]
  for (const [variable, values] of bad) {
    for (const value of values) {
      assert.throws(
        () => readConfig({ [variable]: value }),
        (error: Error) => error.message.includes(variable),
        `${variable}=${value}`,
      )
    }
  }
})

test('Stripe needs both its key and its secret', () => {
  assert.equal(readConfig({}).stripe, null)
  const keys = {
    COMPUTER_STRIPE_SECRET_KEY: 'sk_test_1',
    COMPUTER_STRIPE_WEBHOOK_SECRET: 'whsec_1',
  }
  assert.deepEqual(readConfig(keys).stripe, {
    secretKey: 'sk_test_1',
    webhookSecret: 'whsec_1',
    apiUrl: null,
  })
  for (const [name, value] of Object.entries(keys)) {
    assert.throws(
      () => readConfig({ [name]: value }),
      (error: Error) =>
        /requires? COMPUTER_STRIPE/.test(error.message) && !error.message.includes(value),
    )
  }
})
