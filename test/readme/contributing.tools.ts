/** The test that CONTRIBUTING.md shows runs as it stands there. */

import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'

const run = promisify(execFile)

describe('the page for contributors', () => {
  let folder: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-contributing-'))
    await symlink(resolve('node_modules'), join(folder, 'node_modules'))
    await writeFile(join(folder, 'package.json'), '{"type": "module"}')
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('shows a test that passes, and fails when the service answers something else', async () => {
    const shown = /^```ts\n([\s\S]*?)^```$/m.exec(await readFile('CONTRIBUTING.md', 'utf8'))?.[1] ?? ''
    const world = pathToFileURL(resolve('test/support/world.ts')).href
    const file = join(folder, 'shown.test.ts')
    await writeFile(file, shown.replace('../support/world.ts', world))
    expect(await mocha(file)).to.deep.equal({ code: 0, counts: '1 passing' })
    await writeFile(file, shown.replace('../support/world.ts', world).replace('422', '200'))
    expect(await mocha(file)).to.deep.equal({ code: 1, counts: '1 failing' })
  })
})

async function mocha(file: string): Promise<{ code: number; counts: string | undefined }> {
  const options = ['--no-config', '--no-parallel', '--timeout', '600000', '--require', 'test/support/run.ts']
  const arguments_ = ['--import', 'tsx', 'node_modules/mocha/bin/mocha.js', ...options, file]
  const { code, stdout } = await run(process.execPath, arguments_).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { code: number; stdout: string }) => error,
  )
  return { code, counts: /\d+ (?:failing|passing)(?![\s\S]*failing)/.exec(stdout)?.[0] }
}
