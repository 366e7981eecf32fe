import FormControl from "@mui/material/FormControl";
import FormControlLabel from "@mui/material/FormControlLabel";
import InputLabel from "@mui/material/InputLabel";
import MenuItem from "@mui/material/MenuItem";
import Select from "@mui/material/Select";
import Slider from "@mui/material/Slider";
import Switch from "@mui/material/Switch";
import TextField from "@mui/material/TextField";

import { useReportedState } from "./reported-state.js";

export function MuiControls() {
  const [city, setCity] = useReportedState("mui.city", "");
  const [country, setCountry] = useReportedState("mui.country", "de");
  const [alerts, setAlerts] = useReportedState("mui.alerts", false);
  const [volume, setVolume] = useReportedState("mui.volume", 30);
  return (
    <>
      <TextField label="MUI city" required value={city} onChange={(event) => setCity(event.target.value)} />
      <FormControl sx={{ minWidth: 160, marginLeft: 2 }}>
        <InputLabel id="mui-country">MUI country</InputLabel>
        <Select id="mui-country-select" labelId="mui-country" label="MUI country" value={country} onChange={(event) => setCountry(event.target.value)}>
          <MenuItem value="de">MUI Germany</MenuItem>
          <MenuItem value="fr">MUI France</MenuItem>
          <MenuItem value="es">MUI Spain</MenuItem>
        </Select>
      </FormControl>
      <FormControlLabel label="MUI alerts" control={<Switch checked={alerts} onChange={(event) => setAlerts(event.target.checked)} />} />
      <Slider aria-label="MUI volume" sx={{ width: 200, display: "block", margin: 2 }} value={volume} onChange={(_, value) => setVolume(value)} />
    </>
  );
}
