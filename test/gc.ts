/** `npm run test:gc [-- SECONDS]`, 300 unless said: no read or write fails while git packs and collects from outside. */

import { gcStorm } from './gc-storm.ts'

const seconds = Number(process.argv[2] ?? 300)
if (!(seconds >= 5)) {
  console.error('npm run test:gc [-- SECONDS], 5 at least')
  process.exit(2)
}
const end = performance.now() + seconds * 1_000
const storm = await gcStorm(() => performance.now() < end, console.log)
const { commits, merges, reads, busy, packing, ...wrong } = storm
console.log(`${commits} commits, ${merges} merges, ${reads} reads in ${seconds} s; 503 busy, and made again: ${busy}`)
for (const [what, { done, failed }] of packing) console.log(`${what}: ${done} times, failed ${failed} times`)
for (const [what, list] of Object.entries(wrong))
  console.log(`${what}: ${[list.length, ...list.slice(0, 10)].join('\n  ')}`)
process.exit(Object.values(wrong).every((list) => list.length === 0) ? 0 : 1)
