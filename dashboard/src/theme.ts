import {
  type CSSVariablesResolver,
  createTheme,
  defaultVariantColorsResolver,
  type MantineColorsTuple,
  parseThemeColor,
  type VariantColorsResolver,
} from "@mantine/core";

const berry: MantineColorsTuple = [
  "#f7f0fc",
  "#ebdff5",
  "#d5bceb",
  "#bd96e1",
  "#a977d8",
  "#9c63d3",
  "#8a4cc4",
  "#743bab",
  "#5b2a86",
  "#451f67",
];

/** Light badges and buttons with ink that is dark enough to read on them. */
const variantColorResolver: VariantColorsResolver = (input) => {
  const colors = defaultVariantColorsResolver(input);
  const { isThemeColor, color } = parseThemeColor({
    color: input.color ?? input.theme.primaryColor,
    theme: input.theme,
  });
  if (input.variant !== "light" || !isThemeColor) return colors;
  return {
    ...colors,
    color: `light-dark(color-mix(in srgb, var(--mantine-color-${color}-9), black 40%), var(--mantine-color-${color}-2))`,
  };
};

/** Secondary text that is still easy to read. */
export const cssVariablesResolver: CSSVariablesResolver = () => ({
  variables: {},
  light: { "--mantine-color-dimmed": "#5c5566", "--mantine-color-placeholder": "#6f6878" },
  dark: {
    "--mantine-color-dimmed": "#b3adbd",
    "--mantine-color-placeholder": "#9a94a5",
    "--mantine-color-anchor": "#c4a1e6",
  },
});

export const theme = createTheme({
  primaryColor: "berry",
  primaryShade: { light: 7, dark: 6 },
  colors: { berry },
  autoContrast: true,
  variantColorResolver,
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace",
  defaultRadius: "md",
  headings: { fontWeight: "650" },
  components: {
    Tooltip: { defaultProps: { openDelay: 300, withArrow: true } },
    Anchor: { defaultProps: { underline: "hover" } },
  },
});
