/** The similarity of texts, beside git's. */

import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { fingerprintOf, similarity } from '../../server/features/vault/plan/renames.ts'

const line = fc.oneof(
  fc.constantFrom('one line\n', 'another line\n', '\n', 'with CR\r\n', `${'long '.repeat(30)}\n`),
  fc.string({ maxLength: 12 }).map((text) => `${text.replaceAll('\0', '')}\n`),
)

// Each text ends with a line: gits before 2.45 leave out what follows the last one.
describe('import: the similarity of two texts', () => {
  it("is git's", async () => {
    const folder = await mkdtemp(join(tmpdir(), 'grove-similar-'))
    for (const name of ['one', 'other']) await mkdir(join(folder, name))
    const pairs = fc.sample(
      fc.tuple(fc.array(line, { minLength: 4, maxLength: 12 }), fc.array(line, { maxLength: 6 })),
      {
        seed: 3,
        numRuns: 60,
      },
    )
    let compared = 0
    for (const [at, [base, more]] of pairs.entries()) {
      const [one, other] = [`${base.join('')}${at}\n`, `${[...base.slice(2), ...more].join('')}${at}\n`]
      await writeFile(join(folder, 'one/a'), one)
      await writeFile(join(folder, 'other/b'), other)
      const git = ['diff', '--no-index', '-M50%', '--name-status', 'one', 'other']
      const { stdout } = spawnSync('git', git, { cwd: folder, encoding: 'utf8' })
      const [, percent] = /^R(\d+)/m.exec(stdout) ?? []
      const ours = similarity(fingerprintOf(one), fingerprintOf(other), 0.5)
      if (percent === undefined) expect(ours).to.be.below(0.51)
      else expect(Math.floor(ours * 100)).to.be.within(Number(percent) - 1, Number(percent) + 1)
      compared += Number(percent !== undefined)
    }
    expect(compared).to.be.greaterThan(20)
    await rm(folder, { recursive: true })
  })
})
