/** `grove import --watch`: each change of the folder is imported, until a signal ends it. */

import { appendFile, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { gitIn } from '../support/git.ts'
import { until } from '../support/until.ts'
import { ann, folderOf, grove, importAs, nodesOf, orgIn, start, useService } from './command.ts'

const prose = (name: string) => Array.from({ length: 8 }, (_, at) => `${name} says ${at}.\n`).join('')

describe('import --watch', () => {
  useService()

  it.deep(
    'follows edits, renames, new folders and atomic saves, makes no second node, and ends with the signal',
    async () => {
      const folder = await folderOf('Watched', { 'a.md': prose('A'), 'x/b.md': prose('B') })
      const watching = start(['import', folder, '--as', 'ann@example.org', '--watch'])
      try {
        await until(() => watching.said.stdout.includes('\nWatching '))
        const org = orgIn({ code: 0, ...watching.said })
        const nodes = async (): Promise<{ id: string; title: string; properties: { source_path: string } }[]> =>
          (await ann.get(`/orgs/${org}/nodes?limit=200`)).body.nodes
        const idAt = async (path: string) => (await nodes()).find((node) => node.properties.source_path === path)?.id
        const textAt = async (path: string) =>
          (await ann.get(`/orgs/${org}/nodes/${await idAt(path)}`)).body.text_content
        const [a, b] = [await idAt('a.md'), await idAt('x/b.md')]

        await appendFile(join(folder, 'a.md'), 'Edited.\n')
        await until(async () => (await textAt('a.md')).endsWith('Edited.\n'))

        // As editors save: another file, then its name.
        await writeFile(join(folder, 'a.md~'), 'backup')
        await writeFile(join(folder, '.a.md.swp'), 'swap')
        await writeFile(join(folder, 'a.md.tmp'), `${prose('A')}Saved.\n`)
        await rename(join(folder, 'a.md.tmp'), join(folder, 'a.md'))
        await until(async () => (await textAt('a.md')).endsWith('Saved.\n'))

        await mkdir(join(folder, 'new/deep'), { recursive: true })
        await rename(join(folder, 'a.md'), join(folder, 'new/deep/c.md'))
        await until(async () => (await idAt('new/deep/c.md')) === a)

        // A folder that is there again is watched again.
        await rename(join(folder, 'x'), join(folder, 'y'))
        await mkdir(join(folder, 'x'))
        await until(async () => (await idAt('y/b.md')) === b)
        await writeFile(join(folder, 'x/d.md'), prose('D'))
        await until(async () => (await idAt('x/d.md')) !== undefined)
        await appendFile(join(folder, 'x/d.md'), 'More.\n')
        await until(async () => (await textAt('x/d.md')).endsWith('More.\n'))

        await rm(join(folder, 'y/b.md'))
        await writeFile(join(folder, 'e.md'), prose('E'))
        await until(async () => (await idAt('e.md')) !== undefined)

        watching.child.kill('SIGINT')
        const { code, stdout, stderr } = await watching.done
        expect(code).to.equal(130)
        expect(stderr).to.match(/\ngrove: interrupted by SIGINT before the work was done\n$/)
        const lines = stdout.split('Watching ')[1]?.trim().split('\n').slice(1) ?? []
        expect(lines.length).to.be.within(6, 12)
        for (const line of lines)
          expect(line).to.match(/^\d{4}-.*Z \d+ created, \d+ updated(, \d+ renamed)?, \d+ unchanged: /)
        const ids = (await nodes()).map(({ id }) => id)
        await importAs(folder)
        expect((await nodes()).map(({ id }) => id)).to.deep.equal(ids)
        expect((await nodes()).map(({ properties }) => properties.source_path)).to.have.members([
          '.',
          'new',
          'new/deep',
          'new/deep/c.md',
          'x',
          'y/b.md',
          'x/d.md',
          'e.md',
          'y',
        ])
      } catch (error) {
        throw new Error(`The import said:\n${watching.said.stdout}${watching.said.stderr}`, { cause: error })
      } finally {
        watching.child.kill('SIGKILL')
      }
    },
  )

  it('tries again what was refused, though nothing changes', async () => {
    const folder = await folderOf('Patient', { 'a.md': '# A\n', 'b.md': '# B\n' })
    const watching = start(['import', folder, '--as', 'ann@example.org', '--watch'])
    try {
      await until(() => watching.said.stdout.includes('\nWatching '))
      const org = orgIn({ code: 0, ...watching.said })
      const a = (await nodesOf(org)).get('A')
      const objects = join(gitIn(grove, org, a?.id ?? '').dir, 'objects')
      await rename(objects, `${objects}.away`)
      await appendFile(join(folder, 'a.md'), 'Edited.\n')
      await until(() => watching.said.stdout.includes(' 1 refused: a.md'))
      await rename(`${objects}.away`, objects)
      await until(() => watching.said.stdout.includes('0 created, 1 updated, 2 unchanged: a.md'))
      expect((await ann.get(`/orgs/${org}/nodes/${a?.id}`)).body.text_content).to.match(/Edited\.\n$/)
    } finally {
      watching.child.kill('SIGKILL')
    }
  })

  it.deep('waits for a folder that is gone, says that nothing is lost, and continues with it', async () => {
    const folder = await folderOf('Away', { 'a.md': '# A\n' })
    const watching = start(['import', folder, '--as', 'ann@example.org', '--watch'])
    try {
      await until(() => watching.said.stdout.includes('\nWatching '))
      const org = orgIn({ code: 0, ...watching.said })
      await rename(folder, `${folder} away`)
      const gone = `${folder} is gone. Nothing is changed in Away; the import continues when the folder is back\n`
      await until(() => watching.said.stdout.includes(gone))
      expect([...(await nodesOf(org)).keys()]).to.have.members(['A', 'Away'])
      await writeFile(join(`${folder} away`, 'b.md'), '# B\n')
      await rename(`${folder} away`, folder)
      await until(() => watching.said.stdout.includes(`${folder} is back: 1 created`))
      await writeFile(join(folder, 'c.md'), '# C\n')
      await until(async () => (await nodesOf(org)).has('C'))
    } catch (error) {
      throw new Error(`The import said:\n${watching.said.stdout}${watching.said.stderr}`, { cause: error })
    } finally {
      watching.child.kill('SIGKILL')
    }
  })

  it.deep('goes neither with --prune nor with --dry-run', async () => {
    const folder = await folderOf('Wrong', { 'a.md': 'A' })
    for (const option of ['--prune', '--dry-run'])
      expect(await importAs(folder, '--watch', option)).to.deep.include({ code: 2, stdout: '' })
  })
})
