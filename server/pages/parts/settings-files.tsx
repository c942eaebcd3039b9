/** The files of a node: downloads, removing one, and adding some. */

import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { freePath } from '../text/attached-names.ts'
import { sizeOf } from './file-sizes.ts'
import { Icon } from './icons.tsx'
import { pageOffset } from './paging.tsx'
import { ActButton, type BuildChange, FormError, Section, type Settings, SettingsForm } from './settings-section.tsx'

type FilePage = AnswerOf<'listEntities'>

/** Reads a page of the repository's files. It also has those that other sections show. */
export function readFiles({ visit, at }: Settings): Promise<FilePage> {
  const offset = pageOffset(visit.query.get('files'))
  const query = { limit: limits.listed, offset, sizes: true }
  return visit.api.listEntities({ path: { ...at.path, branch: 'main' }, query })
}

export function FileSection({ settings, files }: { readonly settings: Settings; readonly files: FilePage }) {
  const { visit, at } = settings
  const own = files.entities.filter(({ entity_type }) => entity_type === 'file')
  const base = visit.urls.nodeSettings(at.org.id, at.node.id)
  const { offset, limit, total } = files
  return (
    <Section settings={settings} name="files">
      {own.length === 0 ? (
        <p class="why">{total > limit ? 'No files here.' : 'This page has no files.'}</p>
      ) : (
        <ul class="rows">
          {own.map(({ entity_key, size }) => (
            <li>
              <div>
                <a class="file" href={visit.urls.raw(at.org.id, at.node.id, 'main', entity_key)}>
                  <Icon name="file" size={15} />
                  {entity_key}
                </a>
                {size !== undefined && <small>{sizeOf(size)}</small>}
              </div>
              <SettingsForm settings={settings} name="files" class="plain">
                <input type="hidden" name="file" value={entity_key} />
                <ActButton settings={settings} act="remove-file" label="Remove" of={entity_key} />
              </SettingsForm>
            </li>
          ))}
        </ul>
      )}
      {total > limit && (
        <p class="form-acts">
          {offset > 0 && (
            <a class="btn" href={`${base}?files=${Math.max(0, offset - limit)}#files`}>
              Previous files
            </a>
          )}
          {offset + limit < total && (
            <a class="btn" href={`${base}?files=${offset + limit}#files`}>
              More files
            </a>
          )}
        </p>
      )}
      <SettingsForm settings={settings} name="files" hasFiles>
        <label>
          Add files <small>up to 10 MiB each and 11 MiB in all; larger files can be pushed with Git</small>
          <input type="file" name="file" multiple required />
        </label>
        <label class="check">
          <input type="checkbox" name="replace" value="1" />
          <span>Replace files that have the same name</span>
        </label>
        <ActButton settings={settings} act="add-files" label="Upload" isMain />
      </SettingsForm>
    </Section>
  )
}

export const removeFile: BuildChange = async ({ visit }) => {
  const path = visit.form.get('file') ?? ''
  if (path === '') throw new FormError('Choose a file.')
  return { changes: [{ action: 'delete', path }], message: `Remove ${path}` }
}

/** Puts the files below `files/`. A name that is taken gets a number, unless the form says to replace. */
export const addFiles: BuildChange = async ({ visit, at }, head) => {
  const sent = visit.files.filter(({ field, name, bytes }) => field === 'file' && (name !== '' || bytes.length > 0))
  if (sent.length === 0) throw new FormError('Choose a file.')
  const large = sent.find(({ bytes }) => bytes.length > limits.pageFileBytes)
  if (large)
    throw new FormError(
      `${large.name} is larger than ${limits.pageFileBytes / 1_048_576} MiB. Push it with Git instead.`,
    )
  if (sent.reduce((sum, { bytes }) => sum + bytes.length, 0) > limits.pageFilesBytes)
    throw new FormError(
      `These files are larger than ${limits.pageFilesBytes / 1_048_576} MiB together. Upload them one by one.`,
    )
  const mayReplace = visit.form.get('replace') === '1'
  const taken = new Set<string>()
  const changes = []
  for (const { name, bytes } of sent) {
    const path = await pathFor(name || 'file', taken, async (one) => {
      return (
        !mayReplace &&
        (await visit.api.getFile({ path: { ...at.path, branch: head, path: one } }).then(
          () => true,
          () => false,
        ))
      )
    })
    taken.add(path)
    changes.push({ action: 'put' as const, path, content: bytes.toString('base64'), encoding: 'base64' as const })
  }
  const [first] = changes
  return { changes, message: changes.length === 1 ? `Add ${first?.path}` : `Add ${changes.length} files` }
}

async function pathFor(name: string, taken: ReadonlySet<string>, isTaken: (path: string) => Promise<boolean>) {
  const tried = new Set(taken)
  for (;;) {
    const path = freePath(name, tried)
    if (!(await isTaken(path))) return path
    tried.add(path)
  }
}
