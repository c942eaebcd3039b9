/**
 * A process of the storm: keeps an index over the folder. For each line that it reads, a JSON list of questions, it writes a
 * line: the JSON list of answers. Ends with its parent, since its standard input does.
 */
import { createInterface } from 'node:readline'
import { openOver } from './over-files.ts'

const [file = '', folder = ''] = process.argv.slice(2)
const over = openOver(file, folder)
for await (const line of createInterface({ input: process.stdin })) {
  const answers = await over.ask(JSON.parse(line))
  process.stdout.write(`${JSON.stringify(answers)}\n`)
}
