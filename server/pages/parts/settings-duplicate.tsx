/** Duplicating a node. The form names the id of the copy, so sending it twice makes one copy. */

import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { FormError, Section, type Settings, SettingsForm } from './settings-section.tsx'

export function DuplicateSection({ settings }: { readonly settings: Settings }) {
  const { at, visit } = settings
  const typed = visit.form.get('act') === 'duplicate' ? visit.form.get('title') : null
  return (
    <Section settings={settings} name="duplicate">
      <p class="why">
        The copy has the same text, files, tags, properties, links and parents. It has no history and no proposals.
      </p>
      <SettingsForm settings={settings} name="duplicate">
        <input type="hidden" name="copy" value={crypto.randomUUID()} />
        <label>
          Title of the copy
          <input
            name="title"
            required
            value={typed ?? [...`Copy of ${at.node.title}`].slice(0, limits.title).join('')}
            maxLength={limits.title}
            autocomplete="off"
          />
        </label>
        <button class="btn go" type="submit" name="act" value="duplicate">
          Duplicate
        </button>
      </SettingsForm>
    </Section>
  )
}

/** Copies the node. @returns the URL of the copy */
export async function duplicate({ visit, at }: Settings): Promise<string> {
  const { api, form, urls } = visit
  const title = (form.get('title') ?? '').trim()
  if (title === '') throw new FormError('Enter a title.')
  const id = form.get('copy') ?? ''
  await api.copyNode({ path: at.path, body: { title, id } }).catch((error: unknown) => {
    // The form was sent twice.
    if (!(error instanceof AppError) || error.code !== 'node_exists') throw error
  })
  return urls.node(at.org.id, id, title)
}
