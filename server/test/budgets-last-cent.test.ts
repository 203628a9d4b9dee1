import { testRace } from './budget-race.ts'

// A cent buys six minutes of standard, and every start keeps a cent. Nine are used.
await testRace('cent', {
  limit: { type: 'list_price_cents', value: '10' },
  usedSeconds: 9 * 360,
})
