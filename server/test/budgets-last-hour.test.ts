import { testRace } from './budget-race.ts'

// With this minimum run every start of standard keeps a standard-hour. One of two is used.
await testRace('standard-hour', {
  limit: { type: 'standard_hours', value: '2' },
  minimum_run_seconds: 3_600,
  usedSeconds: 3_600,
})
