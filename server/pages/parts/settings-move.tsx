/** Moving a node: its parents, adding and removing one, and replacing all. */

import { asJson } from '../edits.ts'
import { type Found, findNodes, NodeChoices, NodeSearch } from './node-picker.tsx'
import { ActButton, type BuildChange, FormError, Section, type Settings, SettingsForm } from './settings-section.tsx'

const file = (parent: string) => `parents/${parent}.json`

export function readMove({ visit, at }: Settings): Promise<Found> {
  return findNodes(visit, at.org.id, 'parent', at.node.id)
}

export function MoveSection({ settings, found }: { readonly settings: Settings; readonly found: Found }) {
  const { visit, at } = settings
  const { parents, num_parents } = at.node
  const notes = new Map(parents.map(({ id }) => [id, 'is a parent now']))
  return (
    <Section settings={settings} name="move">
      {parents.length === 0 ? (
        <p>This page is at the top of {at.org.name}.</p>
      ) : (
        <>
          <p class="why">This page is below:</p>
          <ul class="rows">
            {parents.map(({ id, title }) => (
              <li>
                <div>
                  <a href={visit.urls.node(at.org.id, id, title)}>{title}</a>
                </div>
                <SettingsForm settings={settings} name="move" class="plain">
                  <input type="hidden" name="parent" value={id} />
                  <ActButton settings={settings} act="remove-parent" label="Remove" of={title} />
                </SettingsForm>
              </li>
            ))}
          </ul>
          {num_parents > parents.length && <p class="why">and {num_parents - parents.length} more</p>}
        </>
      )}
      <NodeSearch
        {...{ found }}
        action={visit.urls.nodeSettings(at.org.id, at.node.id, 'move')}
        name="parent"
        label="Find a new parent"
      />
      {found.nodes.length > 0 && (
        <SettingsForm settings={settings} name="move">
          <NodeChoices
            {...{ found, notes }}
            name="parent"
            legend="Move this page below"
            chosen={visit.form.get('parent')}
          />
          <p class="form-acts">
            <ActButton settings={settings} act="move" label="Move" isMain />
            {parents.length > 0 && <ActButton settings={settings} act="add-parent" label="Add as another parent" />}
          </p>
        </SettingsForm>
      )}
      {parents.length > 0 && (
        <SettingsForm settings={settings} name="move" class="plain">
          <ActButton settings={settings} act="move-to-top" label="Move to the top" />
        </SettingsForm>
      )}
    </Section>
  )
}

/** Replaces all parents by the chosen one. */
export const moveBelow: BuildChange = async (settings) => {
  const parent = chosenParent(settings)
  const title = await titleOf(settings, parent)
  return { changes: [...removals(settings, parent), ...additions(settings, parent)], message: `Move below ${title}` }
}

export const moveToTop: BuildChange = async (settings) => {
  return { changes: removals(settings), message: 'Move to the top' }
}

export const addParent: BuildChange = async (settings) => {
  const parent = chosenParent(settings)
  const changes = additions(settings, parent)
  if (changes.length === 0) throw new FormError('This page is already below the chosen one.')
  return { changes, message: `Add the parent ${await titleOf(settings, parent)}` }
}

export const removeParent: BuildChange = async (settings) => {
  const parent = chosenParent(settings)
  const title = settings.at.node.parents.find(({ id }) => id === parent)?.title ?? parent
  return { changes: [{ action: 'delete', path: file(parent) }], message: `Remove the parent ${title}` }
}

function chosenParent({ visit }: Settings): string {
  const parent = visit.form.get('parent') ?? ''
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(parent)) throw new FormError('Choose a page.')
  return parent
}

async function titleOf({ visit, at }: Settings, node_id: string): Promise<string> {
  return (await visit.api.getNode({ path: { org_id: at.org.id, node_id } })).title
}

/** Returns nothing for a parent that the node has already. Its file may have a label. */
function additions({ at }: Settings, parent: string) {
  if (at.node.parents.some(({ id }) => id === parent)) return []
  return [{ action: 'put' as const, path: file(parent), content: asJson({}) }]
}

function removals({ at }: Settings, kept?: string) {
  const { parents, num_parents } = at.node
  if (num_parents > parents.length)
    throw new FormError(`This page has more than ${parents.length} parents. Remove some of them first, or use Git.`)
  return parents.filter(({ id }) => id !== kept).map(({ id }) => ({ action: 'delete' as const, path: file(id) }))
}
