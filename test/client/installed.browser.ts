/** The client as others use it: installed from the tarball, compiled, and run in Node and in Chromium. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { build } from 'esbuild'
import type { Browser } from 'playwright-core'
import { operations } from '../../spec/client/operations.ts'
import { launchBrowser } from '../support/browser.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { pack, unpack } from '../support/packed.ts'
import { type PersonClient, signUp } from '../support/people.ts'

const run = promisify(execFile)

/** Bytes, minified and gzipped: of the code, and of each operation in its table. */
const budget = { code: 2_000, operation: 14 } as const

/** A program as a user may write it. */
const program = `
import { type ErrorCode, type Grove, grove, NotFound, type Schemas } from 'grove/client'

export async function story(url: string, token: string, org_id: string): Promise<unknown> {
  const g: Grove = grove({ url, token })
  const path = { org_id }
  const whales: Schemas['NodeDetails'] = await g.createNode({ path, body: { title: 'Whales', tags: ['sea'] } })
  const head = await g.createCommit({
    path: { ...path, node_id: whales.id, branch: 'main' },
    body: { message: 'Sing', changes: [{ action: 'put', path: 'song.md', content: 'La la' }] },
  })
  const titles: string[] = []
  for await (const node of g.each('listNodes', { path, query: { limit: 1 } })) titles.push(node.title)
  const song = await g.getRaw({ path: { ...path, node_id: whales.id, branch: 'main', path: 'song.md' } })
  const { matches } = await g.searchNodes({ path, body: { query: 'whales' } })
  let code: ErrorCode | undefined
  try {
    await g.deleteNode({ path: { ...path, node_id: org_id } })
  } catch (error) {
    if (error instanceof NotFound) code = error.code
  }
  // @ts-expect-error no name of the spec
  await g.updateNode({ path: { ...path, node_id: whales.id }, body: { titel: 'Whales' } }).catch(() => {})
  // @ts-expect-error no list
  const one = g.each('getNode', { path: { ...path, node_id: whales.id } })
  await one.return()
  return [titles, head.id.length, await song.text(), matches.length, code]
}
`

const told = (title: string) => [title.split(' '), 40, 'La la', 1, 'node_not_found']

describe('the installed client', () => {
  let grove: Grove
  let ann: PersonClient
  let folder: string

  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    folder = await mkdtemp(join(tmpdir(), 'grove-client-'))
    const project = join(folder, 'project')
    await mkdir(project)
    await unpack(await pack(join(folder, 'package')), join(project, 'node_modules/grove'))
    const compilerOptions = {
      target: 'ES2022',
      lib: ['ES2022', 'DOM'],
      types: [],
      module: 'NodeNext',
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
    }
    await writeFile(join(project, 'package.json'), '{ "type": "module" }')
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['story.ts'] }))
    await writeFile(join(project, 'story.ts'), program)
  })
  after(async () => {
    await grove.close()
    await rm(folder, { recursive: true, force: true })
  })

  const compile = () =>
    run(process.execPath, [resolve('node_modules/typescript/bin/tsc'), '-p', join(folder, 'project')]).then(
      () => '',
      ({ stdout }) => String(stdout),
    )
  const asked = async () => {
    const org = (await ann.post('/orgs', { name: 'Atlas' })).body.id
    return [grove.url, ann.session.accessToken, org] as const
  }

  it('compiles under the strictest options, and not with names that are wrong', async () => {
    expect(await compile()).to.equal('')
  })

  it('runs in Node', async () => {
    const call = `import { story } from './story.js'\nconsole.log(JSON.stringify(await story(...process.argv.slice(2))))`
    await writeFile(join(folder, 'project/run.js'), call)
    const { stdout } = await run(process.execPath, ['run.js', ...(await asked())], { cwd: join(folder, 'project') })
    expect(JSON.parse(stdout)).to.deep.equal(told('Whales'))
  })

  describe('in a browser', () => {
    let browser: Browser

    before(async () => {
      browser = await launchBrowser()
    })
    after(() => browser.close())

    it('runs on a page from elsewhere', async () => {
      const { outputFiles } = await build({
        entryPoints: [join(folder, 'project/story.js')],
        bundle: true,
        format: 'iife',
        globalName: 'bundle',
        write: false,
      })
      const page = await browser.newPage()
      await page.addScriptTag({ content: outputFiles[0]?.text ?? '' })
      const answer = await page.evaluate(`bundle.story(...${JSON.stringify(await asked())})`)
      expect(answer).to.deep.equal(told('Whales'))
    })
  })

  it('is at most 2,000 bytes and 14 an operation, minified and gzipped', async () => {
    const script = await readFile(join(folder, 'project/node_modules/grove/dist/client/client.js'))
    expect(gzipSync(script, { level: 9 }).length).to.be.at.most(
      budget.code + Object.keys(operations).length * budget.operation,
    )
  })
})
