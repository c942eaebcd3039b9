/** Importing a folder or a .zip in a browser: chosen or dropped, with and without script. */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { pageAt } from '../support/pages.ts'
import { zipOf } from '../support/uploads.ts'
import { ann, newVisitor, reached, signIn, useScene, type Visitor } from './scene.ts'

const notes = {
  'Garden/index.md': '# The garden\n\nBegin with [[Rose]].\n',
  'Garden/plants/Rose.md': '# Rose\n\nIt has [[Thorns]].\n',
  'Garden/.obsidian/app.json': '{}',
  'Garden/.git/HEAD': 'ref: refs/heads/main\n',
}

describe('importing in a browser', () => {
  useScene()
  let outer: string
  let visitor: Visitor

  before(async () => {
    outer = await mkdtemp(join(tmpdir(), 'grove-browser-'))
    for (const [path, content] of Object.entries(notes)) {
      await mkdir(dirname(join(outer, path)), { recursive: true })
      await writeFile(join(outer, path), content)
    }
    await writeFile(join(outer, 'Garden.zip'), await zipOf(notes))
  })
  after(() => rm(outer, { recursive: true, force: true }))
  afterEach(() => visitor.context.close())

  const openForm = async (options = {}) => {
    visitor = await newVisitor(options)
    await signIn(visitor)
    const { id } = await made(ann.post('/orgs', { name: 'Atlas' }))
    await visitor.open(`${pageAt(id)}/import`)
    return id as string
  }
  const expectReport = async (org: string) => {
    const { page } = visitor
    await reached(page, 'Import done')
    await page.getByRole('link', { name: 'Rose', exact: true }).waitFor()
    expect(await page.getByText('[[Thorns]]').count()).to.equal(1)
    const { nodes } = (await ann.get(`/orgs/${org}/nodes`)).body
    expect(nodes.map(({ title }: { title: string }) => title).sort()).to.deep.equal(
      ['Rose', 'The garden', 'plants'].sort(),
    )
    expect(visitor.faults).to.deep.equal([])
  }

  it('refuses a .zip that is too large before it is sent', async () => {
    await openForm()
    const { page } = visitor
    const sent: string[] = []
    page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()))
    await page.getByLabel('Or a .zip').setInputFiles(join(outer, 'Garden.zip'))
    await page.evaluate('Object.defineProperty(File.prototype, "size", { get: () => 257 * 1048576 })')
    await page.getByRole('button', { name: 'Import' }).click()
    expect(await page.getByRole('alert').textContent()).to.equal(
      'Garden.zip has 257.0 MiB, and a .zip has at most 256.0 MiB. Unpack it and choose the folder, which may be larger.',
    )
    expect(sent).to.deep.equal([])
  })

  for (const javaScriptEnabled of [true, false])
    for (const [label, path] of [
      ['Folder', 'Garden'],
      ['Or a .zip', 'Garden.zip'],
    ] as const)
      it(`imports ${path} that was chosen, ${javaScriptEnabled ? 'with' : 'without'} script`, async () => {
        const org = await openForm({ javaScriptEnabled })
        const { page } = visitor
        await page.getByLabel(label).setInputFiles(join(outer, path))
        if (javaScriptEnabled && path === 'Garden')
          await page.getByText('2 files, 2 of them Markdown, 0.0 MiB').waitFor()
        await page.getByRole('button', { name: 'Import' }).click()
        await expectReport(org)
      })

  it('imports a folder that was dropped, without its hidden files', async () => {
    const org = await openForm()
    const { page } = visitor
    await page.evaluate(dropFolder(notes))
    await page.getByText('2 files, 2 of them Markdown, 0.0 MiB').waitFor()
    await page.getByRole('button', { name: 'Import' }).click()
    await expectReport(org)
  })

  it('says why a file is refused, and sends the form again', async () => {
    const org = await openForm()
    const { page } = visitor
    const input = page.getByLabel('Or a .zip')
    await input.setInputFiles({ name: 'a.zip', mimeType: 'application/zip', buffer: Buffer.from('no ZIP') })
    await page.getByRole('button', { name: 'Import' }).click()
    await page.getByText('It is not a ZIP file, or it is incomplete.').waitFor()
    await input.setInputFiles(join(outer, 'Garden.zip'))
    await page.getByRole('button', { name: 'Import' }).click()
    await expectReport(org)
  })
})

/** A script that drops a folder on the form. Browsers make entries only of files that a user drags. */
function dropFolder(files: Readonly<Record<string, string>>): string {
  return `(() => {
    const files = ${JSON.stringify(files)}
    const entryOf = (path) => {
      const name = path.split('/').at(-1)
      if (path in files)
        return { name, isFile: true, file: (done) => done(new File([files[path]], name)) }
      const names = new Set(Object.keys(files).filter((one) => one.startsWith(path + '/'))
        .map((one) => one.slice(path.length + 1).split('/')[0]))
      const lists = [[...names].map((one) => entryOf(path + '/' + one)), []]
      return { name, isFile: false, createReader: () => ({ readEntries: (done) => done(lists.shift()) }) }
    }
    const event = new Event('drop', { bubbles: true, cancelable: true })
    event.dataTransfer = { items: [{ webkitGetAsEntry: () => entryOf('Garden') }] }
    document.querySelector('[data-drop]').dispatchEvent(event)
  })()`
}
