/** The tags of a node, each in its own field. The tags of the organisation are suggestions. */

import * as limits from '../../base/limits.ts'
import { nodeJson } from '../edits.ts'
import {
  ActButton,
  type BuildChange,
  FormError,
  Section,
  type Settings,
  SettingsForm,
  typedIn,
} from './settings-section.tsx'

/** Empty fields, and suggestions. */
const most = { empty: 3, suggestions: 200 } as const

export async function readSuggestedTags({ visit, at }: Settings): Promise<string[]> {
  const { tags } = await visit.api.listOrgTags({ path: { org_id: at.org.id }, query: { limit: most.suggestions } })
  return tags.map(({ name }) => name)
}

interface TagProps {
  readonly settings: Settings
  readonly suggestions: readonly string[]
}

export function TagSection({ settings, suggestions }: TagProps) {
  const typed = typedIn(settings, 'tags')?.getAll('tag')
  const tags = typed?.filter((tag) => tag.trim() !== '') ?? settings.at.node.tags
  const fields = [...tags, ...Array<string>(most.empty).fill('')]
  return (
    <Section settings={settings} name="tags">
      <p class="why">One tag in each field. Clear a field to remove its tag.</p>
      <SettingsForm settings={settings} name="tags">
        <div class="tag-fields">
          {fields.map((tag, at) => (
            <input
              name="tag"
              value={tag}
              list="known-tags"
              autocomplete="off"
              aria-label={tag === '' ? 'New tag' : `Tag ${at + 1}`}
              placeholder={tag === '' ? 'New tag' : undefined}
              maxLength={2 * limits.tag}
            />
          ))}
        </div>
        <datalist id="known-tags">
          {suggestions.map((tag) => (
            <option value={tag} />
          ))}
        </datalist>
        <ActButton settings={settings} act="tags" label="Save tags" isMain />
      </SettingsForm>
    </Section>
  )
}

export const changeTags: BuildChange = async ({ visit: { api, form }, at: { path, node } }, head) => {
  const sent = form.getAll('tag').filter((tag) => tag.trim() !== '')
  const tags = [...new Set(sent.map((tag) => (node.tags.includes(tag) ? tag : tag.trim())))]
  if (tags.length > limits.tags)
    throw new FormError(`A page can have at most ${limits.tags} tags. These are ${tags.length}.`)
  const long = tags.find((tag) => [...tag].length > limits.tag)
  if (long !== undefined)
    throw new FormError(
      `A tag can have at most ${limits.tag} characters. This one has more: ${[...long].slice(0, 20).join('')}…`,
    )
  const content = await nodeJson(api, path, head, { tags })
  return { changes: [{ action: 'put', path: 'node.json', content }], message: 'Edit tags' }
}
